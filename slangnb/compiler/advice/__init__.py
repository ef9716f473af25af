"""Says what to write instead: remedies for errors, warnings of silent faults, hints at crashes."""
