"""Reading and editing FX: node kinds, phases, copies, fake values, taking a snapshot."""
