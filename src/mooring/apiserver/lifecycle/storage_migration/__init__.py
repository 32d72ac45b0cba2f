"""Storage version migrations: objects written anew, and the definition that hears of it."""
