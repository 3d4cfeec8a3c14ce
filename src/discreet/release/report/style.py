"""The style of the report: light and dark, for a screen, a phone and two printed pages."""

STYLE = """
:root{color-scheme:light dark;--ink:#1a1c22;--soft:#4b5160;--line:#c9ced8;--paper:#fff;--panel:#f3f5f9;--mark:#0b4f9e;
--warn:#8a1c1c}
@media (prefers-color-scheme:dark){:root{--ink:#e9eaee;--soft:#b6bccb;--line:#434957;--paper:#15171c;--panel:#1f232b;
--mark:#9cc4ff;--warn:#ffb4ab}}
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;background:var(--paper);
color:var(--ink)}
body{margin:0 auto;max-width:64rem;padding:1rem 1.25rem 3rem}
a{color:var(--mark)}
a:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--mark);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem 1rem;z-index:1}
header{border-bottom:2px solid var(--ink);padding-bottom:.5rem}
header p{margin:0;color:var(--soft)}
h1{font-size:1.8rem;line-height:1.2;margin:.1rem 0;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:1.6rem 0 .5rem}
h3{font-size:1rem;margin:1rem 0 .3rem}
p{margin:.4rem 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:.6rem 0 0}
.stamp{border:2px solid var(--warn);color:var(--warn);padding:.4rem .8rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));gap:.75rem;margin:.5rem 0}
.card{background:var(--panel);border-left:4px solid var(--mark);padding:.6rem .9rem}
.card p{margin:0}
.label,.below,.note,caption{color:var(--soft)}
.label{font-size:.9rem}
.value{font-size:1.5rem;font-weight:700;line-height:1.3;overflow-wrap:anywhere}
.keep{white-space:nowrap}
.below,.note{font-size:.9rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
.numbers{width:auto;min-width:min(100%,26rem)}
caption{text-align:left;font-size:.9rem;padding:.2rem 0}
.worked{width:auto;min-width:min(100%,26rem)}
@media screen{.scroll+.scroll{margin-top:.8rem}}
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}
thead th{border-bottom:2px solid var(--soft)}
.numbers td,.numbers thead th{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.numbers thead th:first-child:not(:only-child),.numbers tbody th{text-align:left}
.numbers tbody th{font-weight:600}
.charts{margin-top:.6rem;display:grid;
grid-template-columns:repeat(auto-fit,minmax(min(16rem,100%),1fr));gap:.5rem 1.5rem}
figure{margin:0}
figcaption{font-weight:600;font-size:.9rem}
svg{width:100%;max-width:30rem;height:auto;display:block}
svg text{font-size:12px;fill:var(--ink)}
svg .tick{font-size:11px;fill:var(--soft)}
svg .grid{stroke:var(--line)}
svg .whisker{stroke:var(--ink);stroke-width:1.6;fill:none}
svg circle,svg rect{fill:var(--mark)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.4rem 0}
dt{color:var(--soft);grid-column:1}
dd{margin:0;grid-column:2;overflow-wrap:anywhere}
.sign{grid-template-columns:repeat(3,max-content 1fr);gap:.8rem 1rem;margin-top:1.5rem}
.sign dt,.sign dd{grid-column:auto}
.sign dd{border-bottom:1px solid var(--soft)}
ul.tight{margin:.3rem 0;padding-left:1.2rem}
.columns>section{margin-bottom:1.2rem}
.hazards ol{padding-left:1.8rem;margin:.3rem 0;columns:26rem;column-gap:2.5rem}
.hazards li{break-inside:avoid;margin-bottom:.35rem}
.status{border:1px solid var(--soft);border-radius:.2em;padding:0 .35em;white-space:nowrap}
pre{background:var(--panel);padding:.6rem .8rem;overflow-x:auto;font-size:.85rem;line-height:1.4;margin:.4rem 0}
footer{border-top:1px solid var(--line);margin-top:2rem;color:var(--soft);font-size:.9rem}
#page-two{border-top:2px solid var(--ink);margin-top:2rem}
@media (max-width:34rem){.numbers{font-size:.85rem}.numbers th,.numbers td{padding-right:.5rem}
dl,.sign{grid-template-columns:1fr}dt,dd{grid-column:1}dd{margin-bottom:.3rem}
.small thead{position:absolute;left:-99rem}.small tr{display:block;border-bottom:1px solid var(--line);padding:.3rem 0}
.small th,.small td{display:inline;border:0;padding-right:.4rem}}
@page{size:A4;margin:10mm 13mm}
@media print{:root{color-scheme:light;--ink:#000;--soft:#333;--line:#bbb;--paper:#fff;--panel:#f2f4f7;--mark:#0b4f9e;
--warn:#8a1c1c}
html{font-size:9pt;line-height:1.3}
body{max-width:none;padding:0}
nav,.skip,footer{display:none}
h1{font-size:17pt}h2{font-size:12pt;margin:3.2mm 0 1mm}h3{font-size:10pt;margin:2mm 0 .5mm}
p{margin:.8mm 0}
.cards{grid-template-columns:1.35fr 1fr 1.25fr;gap:2mm}
.card{padding:1.5mm 2.5mm;print-color-adjust:exact}
.value{font-size:13pt}
th,td{padding:.4mm 3mm .4mm 0}
.charts{grid-template-columns:1fr 1fr}
svg{max-width:8.2cm}
dl{margin:.8mm 0;gap:0 3mm}
#page-one ul.tight{columns:2;margin:.5mm 0}
#page-one .facts{grid-template-columns:max-content 1fr max-content 1fr}
#page-one .facts dt,#page-one .facts dd{grid-column:auto}
.sign{gap:3mm;margin-top:4mm}
.card,figure,tr,.reported h3{break-inside:avoid}
.scroll{overflow:visible}
#page-two{break-before:page;border:0;margin:0}
#page-two h2{margin-top:0}
#page-two{font-size:7.1pt;line-height:1.24}
#page-two .columns{columns:2;column-gap:5mm}
#page-two .columns>section{margin-bottom:1mm}
#page-two h3{font-size:7.8pt;margin:1mm 0 .3mm;break-after:avoid}
#page-two th,#page-two td{padding:.15mm 1.2mm .15mm 0}
#page-two caption{position:absolute;left:-99rem}
#page-two .hazards ol{columns:auto;padding-left:4.2mm;margin:0}
#page-two .hazards li{margin:0}
#page-two .status{padding:0 .6mm}
#page-two pre{font-size:5.6pt;line-height:1.2;padding:1mm;white-space:pre-wrap;overflow-wrap:anywhere;
print-color-adjust:exact}
#page-two ul.tight{margin:.3mm 0;padding-left:3mm}
#page-two p{margin:.4mm 0}}
"""
