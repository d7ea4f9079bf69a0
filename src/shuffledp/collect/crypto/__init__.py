"""What travels: messages in layers of encryption, one for every hop, and the reports and batches that hold them."""
