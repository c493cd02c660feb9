"""Files of records: read whole (`reading`), and masked ones written (`masked`)."""
