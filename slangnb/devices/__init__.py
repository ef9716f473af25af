"""Finds, probes, opens and guards the devices that Slang code runs on."""
