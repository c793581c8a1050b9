"""Where commands and queries go: slots, shares of a batch, one hop, answers that become one."""
