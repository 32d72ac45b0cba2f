"""What is to be done about a content, and what the driver's answer means. Pure."""
