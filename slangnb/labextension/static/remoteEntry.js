// A prebuilt JupyterLab extension, written by hand: a Module Federation container, that is an object with
// init(shareScope) and get(module). It brings no library: all that it needs is shared by JupyterLab itself.
(() => {
  'use strict';

  const NEEDED = {
    codemirror: '@jupyterlab/codemirror',
    language: '@codemirror/language',
    state: '@codemirror/state',
    view: '@codemirror/view'
  };
  const here = document.currentScript.src;
  let scope = {};

  // Give the copy of a module that JupyterLab itself uses; another copy would not be the same to its editors.
  async function shared(name) {
    const versions = Object.values(scope[name] || {});
    const own = versions.find(v => v.loaded) || versions.find(v => v.from === 'CORE_FEDERATION') || versions[0];
    if (!own) {
      throw new Error(`${name} is not shared`);
    }
    return (await own.get())();
  }

  const load = file => import(new URL(file, here).href);

  async function highlighting() {
    const names = Object.keys(NEEDED);
    const modules = await Promise.all(names.map(name => shared(NEEDED[name])));
    const { makePlugin } = await load('plugin.js');
    return makePlugin(Object.fromEntries(names.map((name, i) => [name, modules[i]])));
  }

  async function theme() {
    const { makePlugin } = await load('theme.js');
    return makePlugin();
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.slangnb = {
    init(shareScope) {
      scope = shareScope;
    },

    async get(module) {
      if (module !== './extension') {
        throw new Error(`slangnb: no module ${module}`);
      }
      const made = await Promise.allSettled([highlighting(), theme()]);
      // Voila and other hosts share fewer modules: there, be an extension of fewer plugins.
      for (const { reason } of made.filter(one => one.status === 'rejected')) {
        console.debug('slangnb: not here:', reason);
      }
      const plugins = made.filter(one => one.status === 'fulfilled').map(one => one.value);
      return () => ({ __esModule: true, default: plugins });
    }
  };
})();
