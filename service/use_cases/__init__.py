"""What the service does for its users, whatever the interface: translate documents and sessions, change models."""
