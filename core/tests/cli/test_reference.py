from __future__ import annotations

from quorate.cli.reference import comments_in

SOURCE = """
syntax = "proto3";

// Not of the service: a line is empty between them.

// Keeps notes;
// it forgets none.
service NoteService
{
  // Adds {some}.
  rpc Add(AddNotes)
      returns (Reply) {
    option (google.api.http) = { post: "/v1/{name}" };
  }
  rpc Get(Name) returns (Note);
}
/*
 * The row.
 */
message Note{
  message Label { string text = 1; /** Short. */ }
  string name = 1; // Unique.
  // Above counts,
  repeated Label labels = 2 [deprecated = true]; // beside does not.
  map<string, Color> colors = 3;
  oneof body {
    // As it is.
    bytes raw = 4;
  }
  reserved 5; // gone
}
enum Color {
  // None.
  COLOR_UNSPECIFIED = 0;
  COLOR_RED = 1;
}
"""


def test_comments_are_found_however_a_file_is_laid_out() -> None:
    found = comments_in(SOURCE)

    assert {name: said for name, said in found.items() if said} == {
        "NoteService": "Keeps notes; it forgets none.",
        "NoteService.Add": "Adds {some}.",
        "Note": "The row.",
        "Note.Label.text": "Short.",
        "Note.name": "Unique.",
        "Note.labels": "Above counts,",
        "Note.raw": "As it is.",
        "Color.COLOR_UNSPECIFIED": "None.",
    }
    assert {"NoteService.Get", "Note.Label", "Note.colors", "Color.COLOR_RED"} <= set(found)
