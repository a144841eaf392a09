"""What developers of Phintys run, and what is not part of the library."""
