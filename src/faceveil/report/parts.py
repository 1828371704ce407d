"""What every page is made of: the document around it, and tables."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

STYLE = Path(__file__).with_name("style.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, body: str) -> str:
    """A page of its own: style inside, nothing from outside."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text('utf-8')}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def table(head: Sequence[str], rows: Sequence[tuple[str, list[str]]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr class='{kind}'>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        for kind, cells in rows
    )
    return f"<div class='wide'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
