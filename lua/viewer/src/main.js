document.getElementById("app").textContent = "sim2d";
