(() => {
  const submit = () => document.forms[0].submit();
  // a page that is only prepared waits until it is shown
  if (document.prerendering) document.addEventListener("prerenderingchange", submit, { once: true });
  else submit();
})();
