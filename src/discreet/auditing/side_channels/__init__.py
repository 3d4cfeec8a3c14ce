"""Side-channel audits: calls on neighbouring datasets must look the same beside what they release."""
