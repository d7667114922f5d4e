"""The CUDA driver as the device runner uses it: code, launches, and plans bound to buffers."""
