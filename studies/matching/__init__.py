"""The experiments of Minami and Abe (2019): how many cells the matching attack narrows down."""
