// The JupyterLab plugin: teaches the editors Slang, and switches cells that begin with %%slang to it.

import { HEAD, guarded, isSlangCell } from './tokenizer.js';

export const ID = 'slangnb:highlight';
const MIME = 'text/x-slang';

// Give the plugin, made of modules that JupyterLab shares: @jupyterlab/codemirror and three of @codemirror.
export function makePlugin({ codemirror, language, state, view }) {
  const slang = language.StreamLanguage.define(guarded(error => console.warn('slangnb: highlighting failed:', error)));
  const support = new language.LanguageSupport(slang);
  const cells = makeCells({ state, view }, support);
  let registered = false;
  let fileType = null;

  return {
    id: ID,
    description: 'Highlights Slang: %%slang cells, slang fences, .slang files.',
    autoStart: true,
    requires: [codemirror.IEditorLanguageRegistry, codemirror.IEditorExtensionRegistry],

    activate(app, languages, extensions) {
      // The registries keep what they are given, so that a second activation only switches on again.
      if (!registered) {
        registered = true;
        addLanguage(languages, support);
        extensions.addExtension({
          name: 'slangnb:cells',
          factory: options => codemirror.EditorExtensionRegistry.createImmutableExtension(cells.extension(options))
        });
      }
      fileType = addFileType(app.docRegistry);
      cells.enable(true);
    },

    deactivate() {
      cells.enable(false);
      fileType?.dispose();
      fileType = null;
    }
  };
}

// Fences in Markdown and files find the language by its name and by its MIME type.
function addLanguage(languages, support) {
  if (languages.findByName('slang') || languages.findByMIME(MIME, true)) {
    return; // another extension brings one
  }
  languages.addLanguage({ name: 'slang', displayName: 'Slang', mime: MIME, extensions: ['slang', 'slangh'], support });
}

function addFileType(registry) {
  if (!registry || registry.getFileType?.('slang')) {
    return null;
  }
  return registry.addFileType({
    name: 'slang',
    displayName: 'Slang',
    mimeTypes: [MIME],
    extensions: ['.slang', '.slangh'],
    fileFormat: 'text',
    contentType: 'file'
  });
}

// An editor extension that outranks the cell's own language while the cell's first line is %%slang.
function makeCells({ state, view }, support) {
  const slot = new state.Compartment();
  const on = state.Prec.highest(support);
  const off = [];
  const open = new Set(); // editors that are on the page
  let enabled = false;

  const wanted = text => (enabled && isSlangCell(text) ? on : off);
  const head = doc => doc.sliceString(0, HEAD);

  const follow = state.EditorState.transactionExtender.of(transaction => {
    if (!transaction.docChanged) {
      return null;
    }
    const want = wanted(head(transaction.newDoc));
    const now = slot.get(transaction.startState);
    return now === undefined || now === want ? null : { effects: slot.reconfigure(want) };
  });

  const remember = view.ViewPlugin.define(editor => {
    open.add(editor);
    return { destroy: () => open.delete(editor) };
  });

  return {
    extension(options) {
      const source = options?.model?.sharedModel?.getSource?.() ?? '';
      return [slot.of(wanted(source.slice(0, HEAD))), follow, remember];
    },

    enable(value) {
      enabled = value;
      for (const editor of open) {
        editor.dispatch({ effects: slot.reconfigure(wanted(head(editor.state.doc))) });
      }
    }
  };
}
