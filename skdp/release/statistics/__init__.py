"""The owner's side: what is learned from exact sums over rows with noise on the sums."""
