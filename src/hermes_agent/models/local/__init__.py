"""The embedded model: weights in a package, llama.cpp in this process, no key and no network."""
