(() => {
  const shown = document.documentElement.dataset.state;
  let failures = 0;
  const look = async () => {
    try {
      const response = await fetch("/.atelier/status", { cache: "no-store", headers: { accept: "application/json" } });
      if (response.status === 401 || response.status === 404) return location.reload();
      if (!response.ok) throw new Error(response.status);
      const { state, ready, message } = await response.json();
      if (ready || state !== shown) return location.reload();
      const live = document.getElementById("live");
      if (live && message) live.textContent = message;
      failures = 0;
    } catch {
      failures += 1;
    }
    setTimeout(look, Math.min(2000 * 2 ** failures, 30000));
  };
  setTimeout(look, 2000);
})();
