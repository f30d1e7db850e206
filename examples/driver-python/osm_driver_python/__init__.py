"""A sidecar driver in Python: it speaks osm.driver.v1 and nothing else of the mesh."""
