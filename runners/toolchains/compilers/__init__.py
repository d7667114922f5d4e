"""What toolchains share of compilers: what NVRTC and nvcc are asked for, what they say, and what is
read of what they wrote."""
