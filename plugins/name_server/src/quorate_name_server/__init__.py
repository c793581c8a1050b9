"""Where the queues of topics are: brokers register, and clients look routes up and watch them."""
