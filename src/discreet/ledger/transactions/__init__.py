"""Transactions: registering, charging and answering, each durable as a whole or not at all."""
