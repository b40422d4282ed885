// The way in: the token goes out once, and a cookie that scripts cannot read comes back.
const form = document.getElementById("login");
const error = document.getElementById("error");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  error.textContent = "";
  const answer = await fetch("/login", { method: "POST", body: form.elements.token.value });
  if (answer.ok) location.replace("/" + location.search);
  else error.textContent = (await answer.json()).error;
});
