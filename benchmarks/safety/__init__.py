"""How the safety boundaries hold against a model that obeys every text it reads."""
