// Preact and htm as one: markup in plain template strings, every value escaped as text.
import { h, render, Fragment } from "preact";
import htm from "htm";

export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { render, Fragment };
export const html = htm.bind(h);
