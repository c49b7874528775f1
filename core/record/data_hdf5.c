// HDF5: a dataset an array, its unit as the attribute "units"; what was run as attributes of the
// file. The file is made in memory and then written, so that a full disk is told like everywhere
// else: the library itself cannot close a file that it cannot write.
#include "record/data_formats.h"

#ifdef S2_HAVE_HDF5

#include <hdf5.h>
#include <string.h>

static const char UNITS[] = "units";
static const size_t GROWTH = (size_t)1 << 20; // bytes that the file in memory grows by
static const size_t MOST_BYTES =
    UINT32_MAX; // of an array read: a file of a few bytes can claim any

bool s2_hdf5_available(void) {
  return true;
}

// The library prints what went wrong unless it is told not to.
typedef struct Hush {
  H5E_auto2_t print;
  void *data;
} Hush;

static Hush hush(void) {
  Hush before = {0};
  H5Eget_auto2(H5E_DEFAULT, &before.print, &before.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return before;
}

static void unhush(Hush before) {
  H5Eset_auto2(H5E_DEFAULT, before.print, before.data);
}

// ---- Writing ----------------------------------------------------------------------------------

static bool write_attribute(hid_t object, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, strlen(text) + 1);
  H5Tset_cset(type, H5T_CSET_UTF8);
  hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool good = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
  if (attribute >= 0) {
    H5Aclose(attribute);
  }
  H5Sclose(space);
  H5Tclose(type);
  return good;
}

static bool write_values(hid_t dataset, hid_t type, const S2DataArray *array) {
  size_t count = s2_data_count(array);
  if (count == 0) {
    return true;
  }
  if (array->type != S2_DATA_TEXT) {
    return H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->values) >= 0;
  }
  const char **texts = s2_memory_take(count * sizeof *texts), *at = array->values;
  for (size_t i = 0; i < count; i++) {
    texts[i] = at;
    at += strlen(at) + 1;
  }
  bool good = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0;
  s2_memory_free(texts);
  return good;
}

static bool write_array(hid_t file, const S2DataArray *array) {
  hsize_t shape[S2_DATA_AXES];
  for (int i = 0; i < array->axes; i++) {
    shape[i] = array->shape[i];
  }
  hid_t type = H5Tcopy(array->type == S2_DATA_NUMBER    ? H5T_NATIVE_DOUBLE
                       : array->type == S2_DATA_INTEGER ? H5T_NATIVE_INT64
                       : array->type == S2_DATA_FLAG    ? H5T_NATIVE_UCHAR
                                                        : H5T_C_S1);
  if (array->type == S2_DATA_TEXT) {
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
  }
  hid_t space =
      array->axes > 0 ? H5Screate_simple(array->axes, shape, NULL) : H5Screate(H5S_SCALAR);
  hid_t links = H5Pcreate(H5P_LINK_CREATE); // "a/b" is b in the group a
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_char_encoding(links, H5T_CSET_UTF8);
  hid_t dataset = H5Dcreate2(file, array->name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
  bool good = dataset >= 0 && write_values(dataset, type, array) &&
              (array->unit[0] == '\0' || write_attribute(dataset, UNITS, array->unit));
  if (dataset >= 0) {
    H5Dclose(dataset);
  }
  H5Pclose(links);
  H5Sclose(space);
  H5Tclose(type);
  return good;
}

static S2Status write_all(hid_t file, S2Output *output, const S2DataSet *set) {
  for (int i = 0; i < set->arrays.count; i++) {
    if (!write_array(file, &set->arrays.at[i])) {
      return s2_error(S2_INVALID,
                      "HDF5 cannot hold the array '%.60s': is the name free and without"
                      " '.' alone between slashes?",
                      set->arrays.at[i].name);
    }
  }
  for (int i = 0; i < set->run.entries.count; i++) {
    char key[S2_RUN_KEY_SIZE];
    s2_data_run_key(&set->run, i, key);
    if (!write_attribute(file, key, set->run.entries.at[i].value)) {
      return s2_error(S2_INVALID, "HDF5 cannot hold what is said of the run under '%.60s'", key);
    }
  }
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  ssize_t size = H5Fget_file_image(file, NULL, 0);
  if (size <= 0) {
    return s2_error(S2_INVALID, "HDF5 cannot make the file");
  }
  void *image = s2_memory_take((size_t)size);
  bool good = H5Fget_file_image(file, image, (size_t)size) == size;
  s2_output_bytes(output, image, (size_t)size);
  s2_memory_free(image);
  return good ? s2_ok() : s2_error(S2_INVALID, "HDF5 cannot make the file");
}

S2Status s2_hdf5_save(S2Output *output, const S2DataSet *set) {
  Hush before = hush();
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, GROWTH, 0);
  hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  S2Status status = s2_error(S2_INVALID, "HDF5 cannot make the file");
  hid_t file = H5Fcreate("sim2d", H5F_ACC_TRUNC, creation, access); // the name of no file
  if (file >= 0) {
    status = write_all(file, output, set);
    H5Fclose(file);
  }
  H5Pclose(creation);
  H5Pclose(access);
  unhush(before);
  return status;
}

// ---- Reading ----------------------------------------------------------------------------------

typedef struct Reading {
  const char *path;
  S2DataSet *set;
  S2Status status;
} Reading;

// Texts of a dataset or attribute of one type, one behind the other in the array.
static bool take_texts(hid_t type, hid_t space, size_t count, S2DataArray *array,
                       bool (*read)(hid_t object, hid_t type, void *to), hid_t object) {
  bool good = true;
  hid_t memory = H5Tcopy(H5T_C_S1);
  H5Tset_cset(memory, H5Tget_cset(type));
  if (H5Tis_variable_str(type) > 0) {
    H5Tset_size(memory, H5T_VARIABLE);
    char **texts = s2_memory_take_zeroed((count + 1) * sizeof *texts);
    good = read(object, memory, texts);
    for (size_t i = 0; i < count && good; i++) {
      s2_data_add_text(array, texts[i] != NULL ? texts[i] : "");
    }
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, texts);
    s2_memory_free(texts);
  } else {
    size_t width = H5Tget_size(type) + 1; // with a 0
    H5Tset_size(memory, width);
    char *texts = count <= MOST_BYTES / width ? s2_memory_take_zeroed(count * width + 1) : NULL;
    good = texts != NULL && read(object, memory, texts);
    for (size_t i = 0; i < count && good; i++) {
      texts[i * width + width - 1] = '\0';
      s2_data_add_text(array, texts + i * width);
    }
    s2_memory_free(texts);
  }
  H5Tclose(memory);
  return good;
}

static bool read_dataset(hid_t dataset, hid_t type, void *to) {
  return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0;
}

static bool read_attribute(hid_t attribute, hid_t type, void *to) {
  return H5Aread(attribute, type, to) >= 0;
}

// A single text; false: it is none.
static bool attribute_text(hid_t object, const char *name, S2DataArray *text) {
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) {
    return false;
  }
  hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  *text = (S2DataArray){.type = S2_DATA_TEXT};
  bool good = H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1 &&
              take_texts(type, space, 1, text, read_attribute, attribute);
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
  if (!good) {
    s2_memory_free(text->values);
  }
  return good;
}

static bool read_shape(hid_t space, size_t shape[S2_DATA_AXES], int *axes) {
  hsize_t sizes[H5S_MAX_RANK];
  *axes = H5Sget_simple_extent_ndims(space);
  if (*axes < 0 || *axes > S2_DATA_AXES || H5Sget_simple_extent_dims(space, sizes, NULL) < 0) {
    return false;
  }
  size_t count = 1;
  for (int i = 0; i < *axes; i++) {
    shape[i] = (size_t)sizes[i];
    if (shape[i] != 0 && count > MOST_BYTES / sizeof(double) / shape[i]) {
      return false;
    }
    count *= shape[i];
  }
  return H5Sget_simple_extent_type(space) != H5S_NULL;
}

static S2Status read_array(const Reading *reading, const char *name, hid_t dataset, hid_t type,
                           hid_t space) {
  size_t shape[S2_DATA_AXES];
  int axes = 0;
  if (!read_shape(space, shape, &axes)) {
    return s2_data_refuse(reading->path, "'%.60s' is empty, too large or has more than %d axes",
                          name, S2_DATA_AXES);
  }
  H5T_class_t class = H5Tget_class(type);
  bool is_flag = class == H5T_ENUM && H5Tget_size(type) == 1; // as h5py keeps them
  if (class != H5T_FLOAT && class != H5T_INTEGER && class != H5T_STRING && !is_flag) {
    return s2_data_refuse(reading->path, "'%.60s' is neither numbers nor texts", name);
  }
  S2DataType kind = class == H5T_FLOAT     ? S2_DATA_NUMBER
                    : class == H5T_INTEGER ? S2_DATA_INTEGER
                    : is_flag              ? S2_DATA_FLAG
                                           : S2_DATA_TEXT;
  S2DataArray *array = s2_data_add(reading->set, name, "", kind, axes, shape);
  size_t count = s2_data_count(array);
  bool good = true;
  if (kind == S2_DATA_TEXT) {
    good = take_texts(type, space, count, array, read_dataset, dataset);
  } else if (count > 0) {
    hid_t memory = kind == S2_DATA_NUMBER    ? H5T_NATIVE_DOUBLE
                   : kind == S2_DATA_INTEGER ? H5T_NATIVE_INT64
                                             : type;
    good = read_dataset(dataset, memory, array->values);
  }
  for (size_t i = 0; i < count && kind == S2_DATA_FLAG && good; i++) {
    unsigned char *flag = (unsigned char *)array->values + i;
    *flag = *flag != 0;
  }
  if (!good) {
    return s2_data_refuse(reading->path, "HDF5 cannot read '%.60s'", name);
  }
  S2DataArray unit;
  if (H5Aexists(dataset, UNITS) > 0 && attribute_text(dataset, UNITS, &unit)) {
    s2_memory_free(array->unit);
    array->unit = unit.values;
  }
  return s2_ok();
}

static herr_t visit(hid_t file, const char *name, const H5O_info_t *info, void *user) {
  Reading *reading = user;
  if (info->type != H5O_TYPE_DATASET) {
    return 0;
  }
  hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  if (dataset < 0) {
    reading->status = s2_data_refuse(reading->path, "HDF5 cannot read '%.60s'", name);
    return 1;
  }
  hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  reading->status = read_array(reading, name, dataset, type, space);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(dataset);
  return reading->status.code != S2_OK;
}

static herr_t visit_run(hid_t file, const char *name, const H5A_info_t *info, void *user) {
  (void)info;
  Reading *reading = user;
  S2DataArray text;
  if (attribute_text(file, name, &text)) {
    s2_run_add(&reading->set->run, name, text.values);
    s2_memory_free(text.values);
  }
  return 0;
}

S2Status s2_hdf5_load(const S2DataFile *bytes, S2DataSet *set) {
  Hush before = hush();
  Reading reading = {.path = bytes->path, .set = set};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, GROWTH, 0);
  H5Pset_file_image(access, bytes->bytes, bytes->size);
  hid_t file = bytes->size > 0 ? H5Fopen("sim2d", H5F_ACC_RDONLY, access) : -1;
  if (file < 0) {
    reading.status = s2_data_refuse(bytes->path, "not an HDF5 file, or damaged");
  } else {
    // In the order they were made; groups that do not keep that are read by name.
    herr_t result = H5Ovisit(file, H5_INDEX_CRT_ORDER, H5_ITER_INC, visit, &reading);
    if (result < 0 && reading.status.code == S2_OK) {
      reading.status = s2_data_refuse(bytes->path, "HDF5 cannot list what is in it");
    }
    H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_run, &reading);
    H5Fclose(file);
  }
  H5Pclose(access);
  unhush(before);
  return reading.status;
}

#else

bool s2_hdf5_available(void) {
  return false;
}

// Never asked: the path is refused before.
S2Status s2_hdf5_save(S2Output *output, const S2DataSet *set) {
  (void)output;
  (void)set;
  return s2_error(S2_UNAVAILABLE, "built without HDF5");
}

S2Status s2_hdf5_load(const S2DataFile *file, S2DataSet *set) {
  (void)file;
  (void)set;
  return s2_error(S2_UNAVAILABLE, "built without HDF5");
}

#endif
