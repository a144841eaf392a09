"use strict";
// What pages share: their data, colours that text is legible on, and the details beside a picture.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);

const PALETTE = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2",
                 "#8a6652", "#ff9da7", "#8cd17d", "#a0cbe8"];
const DARK_INK = "#15191d", LIGHT_INK = "#ffffff";

const isDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;

function luminance(colour) {  // as WCAG defines it
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
}

function textOn(colour) {
  return contrast(colour, LIGHT_INK) > contrast(colour, DARK_INK) ? LIGHT_INK : DARK_INK;
}

function showDetails(title, lines) {
  const head = document.createElement("h2"), text = document.createElement("pre");
  head.textContent = title;
  text.textContent = lines.join("\n");
  element("details").replaceChildren(head, text);
}

function press(buttons, pressed) {  // one of several that exclude each other
  for (const button of buttons) button.setAttribute("aria-pressed", String(button === pressed));
}
