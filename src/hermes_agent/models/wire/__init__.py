"""What the wire formats share and what each of them needs beside its provider file."""
