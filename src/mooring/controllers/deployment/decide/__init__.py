"""What is decided about deployments, as pure functions: a picture in, a plan out."""
