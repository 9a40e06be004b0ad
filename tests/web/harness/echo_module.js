// Behaves as a module of Emscripten whose main prints its arguments and exits with 7.
export default async ({ arguments: args, print, quit }) => {
  for (const arg of args) print(arg);
  quit(7);
};
