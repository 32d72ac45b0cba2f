"""What a node serves over HTTPS, for the API server to pass on: logs, exec, attach."""
