"""The tenants as the plugin knows them: copies of core's rows, limits, and their deletion."""
