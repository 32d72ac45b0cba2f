"""What documents look like: the `*.schema` files, and what follows from them.

Start with `contract.py` (messages and fields) and `parse.py` (the format of the files, `load`).
`reader.py` reads a right JSON body at once; `check.py` prunes any document and says what is wrong.
`json_text.py` reads JSON of no schema, strictly.
"""
