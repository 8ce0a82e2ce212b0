"""Types that every layer shares: errors, protocols, records, splits and the extension registry."""
