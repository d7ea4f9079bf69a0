"""Independent checks: exact enumeration with fractions."""
