"""The Container Storage Interface, as its callers see it.

Lives here: one `Connection` per socket (`channel`), a client per service (`identity`, `controller`,
`snapshots`, `node`), what a status code means (`outcome`), the values that go in and come out
(`requests`, `capability`, `topology`, `volume`, `secrets`: pure, for decisions to look at;
`wire` turns them into messages and back), plugin registration (`registration`, `plugin_info`; the
driver's end is `registrar`) and how a service is put on a socket (`serve`). Types of the wire stay
inside; only drivers read `proto`.
May import: the model and what lies below it. Start at `outcome`, then `node`.
"""
