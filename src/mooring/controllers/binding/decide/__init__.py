"""What the binder decides, as pure functions: a picture in, a plan out."""
