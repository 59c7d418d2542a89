"""Parts of tools/bench-peers."""
