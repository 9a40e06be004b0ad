// The worker of module.js. A program ends by returning from main, by exit(), or by a trap, which counts as exit code -1.
onmessage = async ({ data: { module, options, args } }) => {
  let exit = 0;
  const line = (text) => postMessage({ line: text });
  const ended = (code) => {
    exit = code;
  };
  try {
    const { default: start } = await import(module);
    const more = options ? (await import(options)).default() : {};
    await start({ ...more, arguments: args, print: line, printErr: line, onExit: ended, quit: ended });
  } catch (error) {
    if (error?.name === 'ExitStatus') exit = error.status;
    else {
      line(`trap: ${error?.stack ?? error}`);
      exit = -1;
    }
  }
  postMessage({ exit });
};
