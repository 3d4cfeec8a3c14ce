"""Import of public facts from the metadata of other systems, as a draft of a catalog that its owner completes.

One module for each source: SmartNoise SQL metadata, BigQuery privacy policies, Snowflake privacy policies and domains.
"""
