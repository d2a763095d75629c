/* Runs before the first paint, so that the page does not flash in the wrong colours. */
(function () {
  let kept = null;
  try { kept = localStorage.getItem("hermes-theme"); } catch (error) { kept = null; }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
