"""What the slices and the Endpoints object of a service are to hold; pure."""
