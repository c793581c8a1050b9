"""Notes: the check of a row, and the one verb that is not derived."""

from quorate.plugin import Resource, Txn, Verb
from quorate.plugin.advanced import get_row, write_row
from quorate.plugin.checking import check_text

from quorate_notebook.v1 import notes_pb2 as pb


def check_text_of(note: pb.Note | pb.Addition, path: str) -> None:
    """Refuse empty or overlong text; the stored row does not matter."""
    check_text(f"{path}text", note.text, longest=4_096)


def append(txn: Txn, addition: pb.Addition) -> pb.Note:
    """Append text to a note: decisions about the row are made here, where rows have an order."""
    note = get_row(txn, NOTES, addition)
    note.text = f"{note.text} {addition.text}"
    return write_row(txn, NOTES, note)


NOTES = Resource(
    family="notebook.notes",
    row=pb.Note,
    service=pb.DESCRIPTOR.services_by_name["NoteService"],
    group="notebook",
    key=("name",),
    shard_by=("name",),
    check=check_text_of,
    examples=(
        pb.Note(name="milk", text="two bottles", color=pb.NOTE_COLOR_GREEN),
        pb.Note(name="bread", text="one loaf"),
    ),
    verbs={
        "Append": Verb(
            apply=append,
            check=check_text_of,
            examples=(pb.Addition(name="milk", text="of a litre"),),
        )
    },
)
