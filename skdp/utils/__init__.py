"""Small helpers shared by the subpackages; nothing here is public."""
