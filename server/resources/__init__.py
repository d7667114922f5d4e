"""What clients read beside calling tools: resources by address, completion, subscriptions."""
