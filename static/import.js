// A browser sends the names of files without their folders, so the folders go along in a field of their own.
"use strict";

const given = document.getElementById("id_uploads");
const paths = document.getElementById("id_paths");
const says = document.querySelector("[data-folder-says]");

document.querySelector("[data-folder]").addEventListener("click", () => {
  given.webkitdirectory = true;
  given.click();
});
given.addEventListener("change", () => {
  const names = [...given.files].map((file) => file.webkitRelativePath);
  paths.value = names.every(Boolean) ? JSON.stringify(names) : "";
  says.textContent = given.files.length > 1 ? `${given.files.length} files` : "";
  given.webkitdirectory = false;
});
