"""What all learners share: public features, sums of clipped integer vectors, a schedule of noise, and an account."""
